/** The engines that pages can be opened in. */
export const engines = ['chromium', 'firefox', 'webkit'] as const
export type Engine = (typeof engines)[number]

/** What to install where an engine is missing. */
export const installHints: Readonly<Record<Engine, string>> = {
  chromium: 'Install one (npx playwright install chromium), or name it: --browser-path FILE.',
  firefox: 'Install it (apt-get install firefox-esr), or name it: --browser-path FILE.',
  webkit: 'Install it (apt-get install webkit2gtk-driver xvfb), or name WebKitWebDriver: --browser-path FILE.',
}

/** What a missing browser is called. */
export const engineNames: Readonly<Record<Engine, string>> = {
  chromium: 'Chrome or Chromium',
  firefox: 'Firefox',
  webkit: 'WebKitWebDriver with its MiniBrowser',
}
