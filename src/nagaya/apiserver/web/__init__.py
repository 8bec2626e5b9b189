"""HTTP as the server's rooms see it: requests, answers, what a URL asks for, and which form the client wants."""
