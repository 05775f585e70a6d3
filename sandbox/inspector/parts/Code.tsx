/** Code to copy, and code in several languages behind tabs. */
import { useState } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { CopyButton } from './CopyButton.tsx'

export interface CodeProps {
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

export interface CodeTabsProps {
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
    <Tabs
      className="tabs"
      selectedKey={chosen}
      onSelectionChange={(key) => {
        localStorage.setItem(storageKey, String(key))
        setChosen(String(key))
      }}
    >
      <TabList className="tab-list" aria-label={label}>
        {variants.map(({ id, title }) => (
          <Tab key={id} id={id} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {variants.map(({ id, title, code }) => (
        <TabPanel key={id} id={id}>
          <Code code={code} label={`${label}, ${title}`} />
        </TabPanel>
      ))}
    </Tabs>
  )
}
