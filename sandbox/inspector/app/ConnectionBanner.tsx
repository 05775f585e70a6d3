/** Says that the connection to the sandbox is lost, and that it is back. */
import { useLiveStatus } from '../data/live.ts'
import { Icon } from '../parts/Icon.tsx'

export function ConnectionBanner() {
  const status = useLiveStatus()
  return (
    <div className="banner-place" aria-live="polite">
      {status === 'lost' && (
        <p className="banner bar" data-tone="bad">
          <Icon name="close" />
          <span>
            <b>Connection lost.</b> The sandbox does not respond; this page goes on when it does.
          </span>
        </p>
      )}
      {status === 'recovered' && (
        <p className="banner bar" data-tone="good">
          <Icon name="check" />
          <span>
            <b>Connected again.</b> Everything shown was read again.
          </span>
        </p>
      )}
    </div>
  )
}
