# Starts the server: `ruby app/main.rb`.
require_relative "settings"

begin
  Settings.load_env_file
  # Before Sinatra, which reads PORT too.
  settings = Settings.read
  require_relative "server"
  require "puma"
  server = Puma::Server.new(Server.new(settings))
  server.add_tcp_listener("127.0.0.1", settings.port)
rescue Settings::Error => error
  abort error.message
rescue LoadError => error
  abort "#{error.message}. Try: bundle install, or apt install ruby-sinatra puma"
rescue Errno::EADDRINUSE
  abort "Port #{settings.port} is taken. Set PORT to another one, such as 3001."
end

$stdout.sync = true
%w[INT TERM].each { |signal| trap(signal) { exit } }
puts "http://localhost:#{settings.port} with placements of #{settings.base_url}"
server.run.join
