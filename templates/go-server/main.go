// A server of chats and other work, each with a sponsored slot: the placements that it shows are requested here.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// run serves until a signal ends it.
func run() error {
	if err := LoadEnvFile(".env"); err != nil {
		return err
	}
	settings, err := ReadSettings(os.Getenv)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", settings.Port))
	if err != nil {
		return fmt.Errorf("%w. Set PORT to another one, such as 3001", err)
	}
	server := &http.Server{Handler: NewServer(settings), ReadHeaderTimeout: 10 * time.Second}
	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ended.Done()
		server.Close()
	}()
	fmt.Printf("http://localhost:%d with placements of %s\n", settings.Port, settings.BaseURL)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
