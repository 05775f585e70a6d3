/** What is taken away from a page: texts to copy, code in several languages behind tabs, files to save. */
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { Icon } from './Icon.tsx'
import { TabSet } from './Tabs.tsx'

interface CodeProps {
  code: string
  /** What it is, for screen readers and the copy button: `curl of this request`. */
  label: string
  /** A single line that is run in a terminal. */
  isCommand?: boolean
}

export function Code({ code, label, isCommand = false }: CodeProps) {
  return (
    <div className={isCommand ? 'code command-line' : 'code'}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section className="scroller" tabIndex={0} aria-label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton text={code} label={`Copy ${label}`} />
    </div>
  )
}

/** A text that is no code: a body that is not JSON. */
export function TextBlock({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section className="scroller text-body" tabIndex={0} aria-label={label}>
      {text}
    </section>
  )
}

interface CodeTabsProps {
  label: string
  variants: readonly { id: string; title: string; code: string }[]
}

/** The language that was chosen last is shown first in every set that has it. */
const storageKey = 'svc.language'

export function CodeTabs({ label, variants }: CodeTabsProps) {
  const stored = localStorage.getItem(storageKey)
  const [chosen, setChosen] = useState(
    variants.some(({ id }) => id === stored) ? (stored ?? '') : (variants[0]?.id ?? ''),
  )
  return (
    <TabSet
      label={label}
      selectedKey={chosen}
      onSelect={(id) => {
        localStorage.setItem(storageKey, id)
        setChosen(id)
      }}
      tabs={variants.map(({ id, title, code }) => ({
        id,
        title,
        content: <Code code={code} label={`${label}, ${title}`} />,
      }))}
    />
  )
}

const confirmation_ms = 1_400

interface CopyButtonProps {
  /** What is copied; a function is called when it is. */
  text: string | (() => string | Promise<string>)
  /** What it copies, for the tooltip and screen readers: `Copy the secret key`. */
  label: string
  /** Text of the button, beside the icon. */
  children?: string
}

/** A button that copies a text and confirms it. */
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

/** A browser reads the file after the click has returned. */
const kept_ms = 60_000

/** Saves a file on this computer, as a download. */
export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), kept_ms)
}
