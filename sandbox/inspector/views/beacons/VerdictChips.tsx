/** Whether a beacon was accepted, why not, and what it would bill. */
import type { BeaconItem } from '../../../../src/contract/control/beacons.ts'
import { Chip } from '../../parts/Chip.tsx'

type Judged = Pick<BeaconItem, 'verdict' | 'reason_code' | 'would_bill' | 'metric'>

export function VerdictChips({ beacon: { verdict, reason_code, would_bill, metric } }: { beacon: Judged }) {
  return (
    <>
      <Chip>{verdict}</Chip>
      {reason_code !== 'OK' && reason_code !== 'DUPLICATE' && (
        <Chip tone={verdict === 'rejected' ? 'bad' : 'warn'}>{reason_code}</Chip>
      )}
      {would_bill && <Chip tone="money">{`bills ${metric ?? ''}`}</Chip>}
    </>
  )
}
