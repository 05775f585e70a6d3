/** The buttons that act in the sandbox, at the end of the panel. */

import { formatFacts, formats } from '#contract/facts/formats.ts'
import type { ConsoleAction } from '#contract/resources/sandbox/console.ts'
import type { Actions } from './grant.ts'
import { drawChip } from './sections.ts'
import type { Slot } from './slots.ts'
import { type Branch, draw, drawIcon } from './tree.ts'

const choices = [[null, 'Any'] as const, ...formats.map((format) => [format, formatFacts[format].label] as const)]

/** Returns the section of actions: for the next turns, and for the slot that is selected. */
export function drawActions(actions: Actions, slot: Slot | null): Branch {
  const { busy, force } = actions
  const slot_id = slot?.slot_id ?? null
  const button = (text: string, action: ConsoleAction | null, isPressed?: boolean): Branch =>
    draw(
      'button',
      {
        type: 'button',
        class: 'small',
        'data-action': 'act',
        'data-value': JSON.stringify(action),
        disabled: busy !== null || action === null,
        ...(isPressed !== undefined && { 'aria-pressed': `${isPressed}` }),
      },
      text,
    )
  const slotButton = (text: string, action: 'withdraw_consent' | 'expire' | 'slow_frame' | 'replay'): Branch =>
    button(text, slot_id === null ? null : { action, slot_id })
  const buttons = choices.map(([format, text]) =>
    button(text, { action: 'format', format }, (force?.format ?? null) === format),
  )
  const isNoFill = force?.is_no_fill ?? false
  return draw(
    'section',
    { 'data-key': 'actions', class: 'section actions' },
    draw('header', { class: 'bar spread' }, draw('h3', {}, 'Test actions'), drawGrantChip(actions)),
    drawLine(
      'Next turns',
      draw('div', { class: 'bar choice', role: 'group', 'aria-label': 'Format of the next turns' }, ...buttons),
      button('No-fill', { action: 'no_fill', on: !isNoFill }, isNoFill),
    ),
    drawLine('Campaign', drawPicker(actions, button)),
    drawLine(
      'This slot',
      slotButton('Withdraw consent', 'withdraw_consent'),
      slotButton('Expire now', 'expire'),
      slotButton('Slow frame, once', 'slow_frame'),
      slotButton('Replay', 'replay'),
    ),
    drawAsk(actions),
    drawOutcome(actions),
  )
}

function drawLine(name: string, ...buttons: readonly Branch[]): Branch {
  return draw(
    'div',
    { class: 'action-line' },
    draw('span', { class: 'soft' }, name),
    draw('div', { class: 'bar wrap' }, ...buttons),
  )
}

function drawGrantChip({ grant }: Actions): Branch | null {
  if (grant.status === 'none') return null
  return grant.status === 'confirmed' ? drawChip('good', 'confirmed') : drawChip('warn', 'to be confirmed')
}

type DrawButton = (text: string, action: ConsoleAction | null) => Branch

/** The campaign that is forced. Which ones there are is known once a grant is confirmed. */
function drawPicker({ force, busy }: Actions, button: DrawButton): Branch {
  if (force === null) return button('Choose', { action: 'state' })
  const chosen = busy?.action === 'campaign' ? busy.campaign_id : force.campaign_id
  const listed = force.campaigns.some(({ campaign_id }) => campaign_id === chosen)
  const others = chosen === null || listed ? [] : [{ campaign_id: chosen, sponsor_name: chosen }]
  const option = (campaign_id: string | null, text: string) =>
    draw('option', { value: campaign_id ?? '', selected: campaign_id === chosen }, text)
  return draw(
    'select',
    { class: 'small', 'data-action': 'campaign', 'aria-label': 'Campaign of the next turns' },
    option(null, 'The best offer'),
    ...[...force.campaigns, ...others].map(({ campaign_id, sponsor_name }) => option(campaign_id, sponsor_name)),
  )
}

/** The code that the user compares, and where. */
function drawAsk({ grant }: Actions): Branch | null {
  if (grant.status !== 'asked') return null
  return draw(
    'div',
    { class: 'said ask box' },
    draw('output', { class: 'code', 'aria-label': 'Code' }, grant.code),
    draw('p', { class: 'soft' }, 'Confirm in the inspector that this page may act. It must show the same code.'),
    draw(
      'a',
      { class: 'small primary bar', href: grant.confirm_url, target: '_blank', rel: 'noopener noreferrer' },
      drawIcon('open'),
      'Confirm',
    ),
  )
}

function drawOutcome({ outcome, busy, grant }: Actions): Branch | null {
  if (busy !== null && grant.status === 'confirmed') return draw('p', { class: 'faint' }, 'Working …')
  if (outcome === null) return null
  return draw('p', { class: 'said outcome', 'data-tone': outcome.isDone ? 'good' : 'bad' }, outcome.text)
}
