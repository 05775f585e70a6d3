/** The panel: head, list of slots, the slot that is selected, actions. */
import type { ConsolePage } from '#renderer/host/console-page.ts'
import { drawActions } from './action-buttons.ts'
import type { Channel } from './channel.ts'
import { type DetailContext, drawDetail, drawLinks } from './detail.ts'
import type { Actions } from './grant.ts'
import { drawChip } from './sections.ts'
import type { Slot } from './slots.ts'
import { type Branch, draw, drawIcon } from './tree.ts'
import { describeChannel, describeState } from './words.ts'

export interface PanelState {
  page: ConsolePage
  channel: Channel
  actions: Actions
  slots: readonly Slot[]
  selected: Slot | null
  isCollapsed: boolean
  /** What was copied a moment ago: `json`, `report`. */
  copied: string | null
  isUnderConsole: boolean
  /** For screen readers: the newest change. */
  news: string
}

export function drawPanel(state: PanelState): Branch[] {
  const { page, channel, actions, slots, selected, isCollapsed, copied, isUnderConsole, news } = state
  const source = describeChannel(channel.state, page.base_url)
  const now_ms = channel.now() ?? page.now()
  const isLive = channel.state.status === 'live'
  const context: DetailContext = { base_url: page.base_url, now_ms, isLive, isUnderConsole }
  const body = draw(
    'div',
    { 'data-key': 'body', class: 'body scroller' },
    source.text !== '' &&
      draw('p', { 'data-key': 'source', class: 'source box', 'data-tone': source.tone }, source.text),
    slots.length === 0 ? drawEmpty() : drawList(slots, selected),
    selected !== null &&
      draw(
        'div',
        { 'data-key': selected.key, class: 'detail', role: 'region', 'aria-label': `Slot ${selected.name}` },
        ...drawDetail(selected, context),
        drawLinks(copied),
      ),
    context.isLive && drawActions(actions, selected),
  )
  return [
    drawHead(source, isCollapsed),
    ...(isCollapsed ? [] : [body]),
    draw('p', { 'data-key': 'news', class: 'unseen', role: 'status' }, news),
  ]
}

function drawHead(source: ReturnType<typeof describeChannel>, isCollapsed: boolean): Branch {
  const button = (action: string, text: string, icon: Parameters<typeof drawIcon>[0]): Branch =>
    draw(
      'button',
      { type: 'button', class: 'copy soft head-button', 'data-action': action, 'aria-label': text, title: text },
      drawIcon(icon),
    )
  return draw(
    'header',
    { 'data-key': 'head', class: 'head bar', 'data-handle': true },
    draw('span', { class: 'logo' }, drawIcon('brand')),
    draw('h2', { class: 'grow clipped' }, 'Placements'),
    draw('span', { class: 'live bar tiny', 'data-tone': source.tone }, source.chip),
    button('move', 'Move with the arrow keys', 'move'),
    draw(
      'button',
      {
        type: 'button',
        class: 'copy soft head-button',
        'data-action': 'collapse',
        'aria-label': isCollapsed ? 'Expand' : 'Collapse',
        'aria-expanded': `${!isCollapsed}`,
        title: isCollapsed ? 'Expand' : 'Collapse',
      },
      drawIcon(isCollapsed ? 'up' : 'down'),
    ),
    button('close', 'Close (Esc)', 'close'),
  )
}

function drawEmpty(): Branch {
  return draw(
    'div',
    { 'data-key': 'empty', class: 'empty' },
    draw('b', {}, 'No turn has started'),
    draw('p', { class: 'soft' }, 'Slots appear here with the first turn of this page.'),
  )
}

function drawList(slots: readonly Slot[], selected: Slot | null): Branch {
  const index = selected === null ? -1 : slots.indexOf(selected)
  return draw(
    'ul',
    {
      'data-key': 'list',
      class: 'slots scroller',
      role: 'listbox',
      tabindex: '0',
      'aria-label': 'Slots',
      'aria-activedescendant': index < 0 ? null : `slot-${index}`,
    },
    ...slots.map((slot, at) => drawOption(slot, at, slot === selected)),
  )
}

function drawOption(slot: Slot, at: number, isSelected: boolean): Branch {
  const { tone, chip, reason } = describeState(slot)
  return draw(
    'li',
    {
      'data-key': slot.key,
      id: `slot-${at}`,
      class: 'slot bar',
      role: 'option',
      'aria-selected': `${isSelected}`,
      'data-action': 'select',
      'data-value': slot.key,
      'data-tone': tone,
    },
    draw('b', { class: 'clipped' }, slot.name),
    draw('span', { class: 'faint clipped grow' }, slot.ad?.placement.format ?? reason ?? ''),
    drawChip(tone, chip),
  )
}
