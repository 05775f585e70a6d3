import { type Check, ok, warning } from './finding.ts'
import type { Machine } from './machine.ts'

export const browser: Check<Pick<Machine, 'browser'>> = {
  name: 'browser',
  find: ({ browser: path }) => [
    path === null
      ? warning(
          'No Chrome or Chromium was found.',
          'Install one, or put it on the PATH. Only what opens a browser needs it.',
        )
      : ok(`${path}.`),
  ],
}

const names = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'chrome', 'microsoft-edge']
const places: Readonly<Record<string, readonly string[]>> = {
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  linux: ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome'].flatMap((folder) =>
    names.map((name) => `${folder}/${name}`),
  ),
}
const windowsPlaces = ['Google\\Chrome\\Application\\chrome.exe', 'Microsoft\\Edge\\Application\\msedge.exe']

/** Where a browser may be, the most likely first: the PATH, then the usual places of the platform. */
export function browserCandidates(platform: string, env: Readonly<Record<string, string | undefined>>): string[] {
  if (platform === 'win32') {
    const roots = [env.ProgramFiles, env['ProgramFiles(x86)'], env.LOCALAPPDATA].filter((root) => root !== undefined)
    return roots.flatMap((root) => windowsPlaces.map((place) => `${root}\\${place}`))
  }
  const folders = (env.PATH ?? '').split(':').filter((folder) => folder !== '')
  const onPath = folders.flatMap((folder) => names.map((name) => `${folder}/${name}`))
  return [...onPath, ...(places[platform] ?? [])]
}
