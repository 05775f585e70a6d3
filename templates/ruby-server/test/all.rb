# Runs every test: `npx --no svc-sandbox exec -- ruby test/all.rb`. A part: `-n /beacons/`.
begin
  require "minitest/autorun"
  require_relative "sandbox"
rescue LoadError => error
  abort "#{error.message}. Try: bundle install, or apt install ruby-sinatra puma ruby-minitest"
end

Dir[File.join(__dir__, "*_test.rb")].each { |file| require file }
