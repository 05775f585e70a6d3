import { createApp } from './app.ts'
import { readSettings, type Settings } from './settings.ts'

const settings = settingsOrExit()
// Only this computer: requests of others would be sent with the secret key. In production, a proxy is in front of it.
createApp(settings).listen(settings.port, '127.0.0.1', (error) => {
  if (error !== undefined) exit(`${error.message}. Set PORT to another one, such as 3001.`)
  console.log(`http://localhost:${settings.port} with placements of ${settings.base_url}`)
})

function settingsOrExit(): Settings {
  try {
    return readSettings(process.env)
  } catch (error) {
    return exit((error as Error).message)
  }
}

function exit(message: string): never {
  console.error(message)
  process.exit(1)
}
