import type { ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs, type TabsProps } from 'react-aria-components'

interface TabSetProps extends Pick<TabsProps, 'selectedKey'> {
  /** The name of the tabs, for screen readers. */
  label: string
  tabs: readonly { id: string; title: string; content: ReactNode }[]
  onSelect?(id: string): void
  /** Classes of the whole, and of a tab's content. */
  className?: string
  panelClassName?: string
}

export function TabSet({ label, tabs, onSelect, className = '', panelClassName = '', ...selected }: TabSetProps) {
  return (
    <Tabs className={`tabs ${className}`} onSelectionChange={(key) => onSelect?.(String(key))} {...selected}>
      <TabList className="tab-list" aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Tab key={id} id={id} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {tabs.map(({ id, content }) => (
        <TabPanel key={id} id={id} className={panelClassName}>
          {content}
        </TabPanel>
      ))}
    </Tabs>
  )
}
