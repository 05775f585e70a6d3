/** Texts to copy, in several languages behind tabs. */
import { useState } from 'react'
import { TabSet } from './TabSet.tsx'
import { CopyButton } from './values/CopyButton.tsx'

interface CodeProps {
  code: string
  /** The name of the code, for screen readers and the copy button: `curl of this request`. */
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

/** One language of a text that is available in several. */
export interface CodeVariant {
  id: string
  title: string
  code: string
}

/** The last chosen language is shown first in every set that has it. */
const storageKey = 'svc.language'

export function CodeTabs({ label, variants }: { label: string; variants: readonly CodeVariant[] }) {
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
