import type { ReactNode } from 'react'
import type { KeyItem } from '#contract/resources/keys.ts'
import { call } from '../../data/api.ts'
import { ConfirmButton } from '../../parts/ConfirmButton.tsx'
import type { Action } from '../../parts/Dialog.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'

interface KeyCardProps {
  item: KeyItem
  /** Next to it, at its end. */
  actions?: ReactNode
}

/** A key among others: its identifier, its purpose, and its actions. */
export function KeyCard({ item, actions }: KeyCardProps) {
  const { key_id, mode, created_at_ms, revoked_at_ms } = item
  return (
    <li className="box card">
      <div className="grow">
        <div className="bar wrap-line">
          <Id kind="key" id={key_id} isCopied />
          <Chip tone={item.class === 'secret' ? 'warn' : 'plain'}>{item.class}</Chip>
          <Chip tone={mode === 'live' ? 'bad' : 'plain'}>{mode}</Chip>
          {revoked_at_ms !== null && <Chip tone="bad">revoked</Chip>}
        </div>
        <p className="faint tiny">
          created <Time at_ms={created_at_ms} show="date" />
          {revoked_at_ms !== null && (
            <>
              , revoked <Time at_ms={revoked_at_ms} show="date" />
            </>
          )}
        </p>
      </div>
      {actions}
    </li>
  )
}

/** Nothing for a key that is revoked. */
export function RevokeKey({ item: { key_id, revoked_at_ms }, action }: { item: KeyItem; action: Action }) {
  if (revoked_at_ms !== null) return null
  return (
    <ConfirmButton
      title={`Revoke ${key_id}?`}
      text="From the next request on, the key and the tokens issued for it get a 401 key_revoked. A reset restores the keys of the seed."
      confirm="Revoke"
      onConfirm={() => action.run(() => call('keys.revoke', { params: { key_id }, body: {} }), `${key_id} is revoked.`)}
    />
  )
}
