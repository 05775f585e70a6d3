/**
 * The console on the page: what each ad does, seen where it is. render.js loads it when it is asked for, and hands it a view of the
 * renderer; what only the sandbox knows comes over one narrow channel.
 */
import type { Console, ConsoleOptions, ConsolePage } from '#renderer/host/console-page.ts'
import { openChannel } from './channel.ts'
import { openActions } from './grant.ts'
import { renderBugReport, renderJson, renderText } from './report.ts'
import { readSlots } from './slots.ts'
import { openView, type View } from './view.ts'

/** The renderer keeps the last 200 events: the console those since it was opened, too. */
const maxHistory = 2_000

let shown: { console: Console; view: View } | null = null

/** Opens the console, or returns the one that is shown. Resolves once the sandbox has answered, or cannot be reached. */
export async function openConsole(page: ConsolePage, options: ConsoleOptions = {}): Promise<Console> {
  if (!options.hidden && shown !== null) {
    if (options.focus) shown.view.focus()
    return shown.console
  }
  let view: View | null = null
  const watch = openWatch(page, () => view?.draw())
  const { channel, read } = watch
  const opened: Console = {
    text: () => renderText(read()),
    close: () => {
      watch.close()
      view?.close()
      if (shown?.console === opened) shown = null
    },
  }
  if (!options.hidden) {
    view = openView({
      read,
      copy: (kind, slot) => (kind === 'json' ? renderJson : renderBugReport)({ page, channel, slots: [slot] }, slot),
      onClose: opened.close,
      hasPanel: options.marksOnly !== true,
    })
    shown = { console: opened, view }
    if (options.focus) view.focus()
  }
  await channel.refresh()
  return opened
}

/** What a console reads, and what it follows: the events of the page, the channel, the actions. */
function openWatch(page: ConsolePage, onChange: () => void) {
  const channel = openChannel(page, onChange)
  const actions = openActions(page, onChange)
  let history = page.events()
  const stop = page.on((event) => {
    history = [...history.slice(1 - maxHistory), event]
    if (event.type === 'beacon' || event.type === 'decision') void channel.refresh()
    onChange()
  })
  return {
    channel,
    actions,
    read: () => ({ page, channel, actions, slots: readSlots(page, history, channel.find) }),
    close: () => {
      stop()
      channel.close()
      actions.close()
    },
  }
}
