import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { Icon } from '../Icon.tsx'

const confirmationMs = 1400

interface CopyButtonProps {
  /** The text to copy; a function is called when it is copied. */
  text: string | (() => string | Promise<string>)
  /** The label for the tooltip and screen readers: `Copy the secret key`. */
  label: string
  /** Text of the button, next to the icon. */
  children?: string
}

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), confirmationMs)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
      setState('copied')
    } catch {
      // A page that is not on loopback or https has no clipboard.
      setState('failed')
    }
  }
  return (
    <Button
      className={children === undefined ? 'copy soft' : 'small bar'}
      aria-label={children === undefined ? label : `${children}: ${label}`}
      onPress={copy}
    >
      <Icon name={state === 'copied' ? 'check' : state === 'failed' ? 'close' : 'copy'} />
      {children}
      <span className="unseen" role="status">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'The browser refused to copy' : ''}
      </span>
    </Button>
  )
}
