import { createApp } from './app.ts'
import { readSettings, type Settings } from './settings.ts'

const settings = settingsOrExit()
createApp(settings).listen(settings.port, (error) => {
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
