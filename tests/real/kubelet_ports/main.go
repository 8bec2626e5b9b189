// The kubelet's port-forward endpoint, served by Kubernetes' own streaming library: every pod's ports are those of
// loopback. Prints "ready" when it listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

type loopback struct{}

// PortForward copies between a stream and a port until both directions have ended, or one has failed.
func (loopback) PortForward(_ context.Context, _ string, _ string, port int32, stream io.ReadWriteCloser) error {
	target, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer target.Close()
	received := make(chan error, 1)
	go func() {
		_, err := io.Copy(target, stream)
		target.(*net.TCPConn).CloseWrite()
		received <- err
	}()
	if _, err := io.Copy(stream, target); err != nil {
		return err
	}
	stream.Close()
	select {
	case err := <-received:
		return err
	case <-time.After(time.Second):
		return nil
	}
}

func main() {
	address := flag.String("address", "", "where to listen")
	certificate := flag.String("certificate", "", "file of the serving certificate")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	protocols := []string{portforward.ProtocolV1Name}
	http.HandleFunc("/portForward/", func(w http.ResponseWriter, req *http.Request) {
		parts := strings.Split(req.URL.Path, "/")
		portforward.ServePortForward(w, req, loopback{}, parts[len(parts)-1], "", nil, time.Hour, 10*time.Second, protocols)
	})
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	log.Fatal((&http.Server{}).ServeTLS(listener, *certificate, *key))
}
