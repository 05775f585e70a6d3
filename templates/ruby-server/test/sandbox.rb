# The sandbox that `svc exec` started, and visitors of this server.
require "json"
require "net/http"
require "puma"
require "stringio"
require_relative "../app/server"
require_relative "../app/settings"

module Sandbox
  SETTINGS = begin
    Settings.read
  rescue Settings::Error => error
    abort "#{error.message}. The tests need a sandbox: npx --no svc-sandbox exec -- ruby test/all.rb"
  end

  # The control plane: the requests that it received, and the faults to inject.
  def self.control(method, path, body = nil)
    answer = call(method, "#{SETTINGS.base_url}/_sandbox/#{path}", body || (method == "GET" ? nil : {}))
    raise "#{method} #{path}: #{answer.status} #{answer.body}" if answer.status >= 400

    answer.body
  end

  def self.call(method, url, body, headers = {})
    request = Net::HTTP.const_get(method.capitalize).new(URI(url), headers)
    unless body.nil?
      request["Content-Type"] = "application/json"
      request.body = JSON.generate(body)
    end
    response = Net::HTTP.start(request.uri.host, request.uri.port, read_timeout: 15) { |http| http.request(request) }
    Answer.new(response.code.to_i, JSON.parse(response.body), response.to_hash.transform_values(&:first))
  end
end

# This server, on a free port, for all tests.
module TestServer
  def self.port
    @port ||= begin
      server = Puma::Server.new(Server.new(Sandbox::SETTINGS, log: StringIO.new))
      port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
      server.run
      port
    end
  end
end

# A browser with its own cookie.
class Visitor
  def initialize
    @cookie = ""
  end

  def get(path) = call("GET", path, nil)

  def post(path, body) = call("POST", path, body)

  private

  def call(method, path, body)
    answer = Sandbox.call(method, "http://127.0.0.1:#{TestServer.port}#{path}", body, "Cookie" => @cookie)
    @cookie = answer.headers.fetch("set-cookie", @cookie).split(";").first.to_s
    answer
  end
end
