require "json"
require "net/http"

# A response of the service, its headers with names in lower case; our own `no_answer` if there was none.
Answer = Struct.new(:status, :body, :headers)

# Calls the placement service: one request, one response, never an exception.
class Service
  # Longer than the longest wait_ms, which is 5 s.
  TIMEOUT_S = 8

  def initialize(settings, log: $stderr)
    @settings = settings
    @log = log
  end

  def get(path) = call(Net::HTTP::Get, path)

  def post(path, body) = call(Net::HTTP::Post, path, body)

  private

  def call(kind, path, body = nil)
    answer = send_request(kind, path, body)
    @log.puts "#{kind::METHOD} #{path}: #{answer.status} #{answer.body.to_json}" if answer.status >= 400
    answer
  rescue SystemCallError, IOError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError, Net::ProtocolError,
         Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError, Zlib::Error, JSON::ParserError, URI::Error => error
    @log.puts "#{kind::METHOD} #{path}: #{error.message}. " \
              "Is the service at SVC_BASE_URL? A sandbox: npx --no svc-sandbox start"
    message = "The placement service sent no readable response."
    Answer.new(502, { "error" => "no_answer", "message" => message, "retryable" => true }, {})
  end

  def send_request(kind, path, body)
    uri = URI(@settings.base_url + path)
    raise URI::InvalidURIError, "#{@settings.base_url} is not an http:// or https:// URL" unless uri.is_a?(URI::HTTP)

    request = kind.new(uri, "Authorization" => "Bearer #{@settings.secret_key}")
    unless body.nil?
      request["Content-Type"] = "application/json"
      request.body = JSON.generate(body)
    end
    response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", open_timeout: TIMEOUT_S,
                                                   read_timeout: TIMEOUT_S, max_retries: 0) do |http|
      http.request(request)
    end
    received = JSON.parse(response.body.to_s)
    raise JSON::ParserError, "the response is not a JSON object" unless received.is_a?(Hash)

    Answer.new(response.code.to_i, received, response.to_hash.transform_values(&:first))
  end
end
