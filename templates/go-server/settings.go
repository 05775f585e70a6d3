package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Settings are the service's URL, and this project's key for it.
type Settings struct {
	BaseURL   string
	ClientID  string
	SecretKey string
	Port      int
}

// ReadSettings reads the environment. Its error names everything that is missing, before anything starts.
func ReadSettings(getenv func(string) string) (Settings, error) {
	var missing []string
	required := func(name string) string {
		value := getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	settings := Settings{
		BaseURL:   strings.TrimRight(required("SVC_BASE_URL"), "/"),
		ClientID:  required("SVC_CLIENT_ID"),
		SecretKey: required("SVC_SECRET_KEY"),
		Port:      3000,
	}
	if len(missing) > 0 {
		return settings, fmt.Errorf("%s not set. Try: cp .env.example .env, or npm run dev", strings.Join(missing, ", "))
	}
	if !strings.HasPrefix(settings.SecretKey, "sk_") {
		return settings, errors.New("SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser")
	}
	if port := getenv("PORT"); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return settings, fmt.Errorf("PORT is not a port: %q. Set it to a number, such as 3001", port)
		}
		settings.Port = int(number)
	}
	return settings, nil
}

// LoadEnvFile adds the NAME=value lines of a file, if there is one, to the environment; what is set there already wins.
func LoadEnvFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, found := strings.Cut(lines.Text(), "=")
		name = strings.TrimSpace(name)
		if _, set := os.LookupEnv(name); !found || set || strings.HasPrefix(name, "#") {
			continue
		}
		if err := os.Setenv(name, strings.Trim(strings.TrimSpace(value), `"'`)); err != nil {
			return fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
	}
	return lines.Err()
}
