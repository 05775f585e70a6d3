// The chat of this project.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Question string }
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		session(w, r)
		send(w, map[string]string{"answer": "You asked: " + body.Question + " Weigh it: 18 g in, 36 g out."})
	})
	http.Handle("/", http.FileServer(http.Dir("public")))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

// session returns the id of the visitor, which is new without a cookie.
func session(w http.ResponseWriter, r *http.Request) string {
	if cookie, err := r.Cookie("session"); err == nil {
		return cookie.Value
	}
	id := make([]byte, 16)
	rand.Read(id)
	cookie := &http.Cookie{Name: "session", Value: hex.EncodeToString(id), Path: "/", HttpOnly: true}
	http.SetCookie(w, cookie)
	return cookie.Value
}

func send(w http.ResponseWriter, value any) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(value)
}
