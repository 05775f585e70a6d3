/** A button that copies a text and confirms it. */
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { Icon } from './Icon.tsx'

const confirmation_ms = 1_400

export interface CopyButtonProps {
  /** What is copied; a function is called when it is. */
  text: string | (() => string | Promise<string>)
  /** What it copies, for the tooltip and screen readers: `Copy the secret key`. */
  label: string
  /** Text of the button, beside the icon. */
  children?: string
}

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), confirmation_ms)
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
