# The service's URL, and this project's key for it.
Settings = Struct.new(:base_url, :client_id, :secret_key, :port, keyword_init: true) do
  # Reads the environment. Raises Settings::Error with everything that is missing, before anything starts.
  def self.read(environment = ENV)
    names = %w[SVC_BASE_URL SVC_CLIENT_ID SVC_SECRET_KEY]
    missing = names.select { |name| environment.fetch(name, "").empty? }
    unless missing.empty?
      raise Settings::Error, "#{missing.join(", ")} not set. Try: cp .env.example .env, or npm run dev"
    end

    base_url, client_id, secret_key = names.map { |name| environment[name] }
    unless secret_key.start_with?("sk_")
      raise Settings::Error, "SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser."
    end

    new(base_url: base_url.chomp("/"), client_id: client_id, secret_key: secret_key, port: read_port(environment))
  end

  def self.read_port(environment)
    port = Integer(environment.fetch("PORT", "3000"), 10, exception: false)
    return port if port&.between?(0, 65_535)

    raise Settings::Error, "PORT is not a port: #{environment["PORT"].inspect}. Set it to a number, such as 3001."
  end

  # Adds the NAME=value lines of a file to the environment; what is set there already wins.
  def self.load_env_file(path = ".env")
    return unless File.file?(path)

    File.foreach(path, chomp: true, encoding: "UTF-8") do |line|
      name, value = line.split("=", 2).map(&:strip)
      next if value.nil? || name.empty? || name.start_with?("#")

      ENV[name] ||= value.delete_prefix('"').delete_suffix('"').delete_prefix("'").delete_suffix("'")
    end
  end

  # The key is in no log.
  def inspect = "#<Settings #{base_url} #{client_id}>"
  alias_method :to_s, :inspect
end

# A required setting is missing from the environment, or cannot be used.
class Settings::Error < StandardError; end
