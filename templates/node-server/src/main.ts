import { createApp } from './app.ts'
import { readSettings, type Settings } from './settings.ts'

const settings = settingsOrExit()
createApp(settings).listen(settings.port, (error) => {
  if (error !== undefined) exit(`${error.message}. Another port: PORT=3001 npm start`)
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
