"""Workers: what a call sets going and a UPID names."""
