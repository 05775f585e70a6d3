/** The command palette: views, the page of any identifier, and what can be done from anywhere. */
import { useState } from 'react'
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  SearchField,
  Text,
  useFilter,
} from 'react-aria-components'
import { useLocation } from 'wouter'
import { linkTo, useSession } from '../data/session.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { kindOf, routeTo } from '../parts/Id.tsx'
import { setTheme } from './theme.ts'
import { views } from './views.ts'

interface PaletteProps {
  isOpen: boolean
  close(): void
  openShortcuts(): void
}

interface Command {
  id: string
  label: string
  summary: string
  icon: IconName
  run(): void
}

export function Palette({ isOpen, close, openShortcuts }: PaletteProps) {
  return (
    <ModalOverlay className="overlay" isDismissable isOpen={isOpen} onOpenChange={(open) => !open && close()}>
      <Modal className="palette-modal">
        <Dialog className="palette" aria-label="Command palette">
          <Commands close={close} openShortcuts={openShortcuts} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function Commands({ close, openShortcuts }: Omit<PaletteProps, 'isOpen'>) {
  const [text, setText] = useState('')
  const [, navigate] = useLocation()
  const { projects } = useSession()
  const { contains } = useFilter({ sensitivity: 'base' })
  const wanted = text.trim()
  const kind = kindOf(wanted)

  const found: Command[] =
    wanted === ''
      ? []
      : [
          {
            id: 'find',
            // Whatever is typed: so the filter keeps it.
            label: text,
            summary: kind === null ? 'open what has this identifier' : `open this ${kind}`,
            icon: 'open',
            run: () => navigate(kind === null ? `/id/${encodeURIComponent(wanted)}` : routeTo(kind, wanted)),
          },
        ]
  const places = views.map(
    ({ id, label, summary, icon, href }): Command => ({ id, label, summary, icon, run: () => navigate(href) }),
  )
  const go = (address: string) => () => location.assign(linkTo(address))
  const actions: Command[] = [
    {
      id: 'demo',
      label: 'Demo host',
      summary: 'five surfaces with a sponsored slot',
      icon: 'product',
      run: go('/_sandbox/demo'),
    },
    {
      id: 'docs',
      label: 'Documentation',
      summary: 'guides, reference, codes',
      icon: 'page',
      run: go('/_sandbox/docs/'),
    },
    { id: 'light', label: 'Light theme', summary: '', icon: 'light', run: () => setTheme('light') },
    { id: 'dark', label: 'Dark theme', summary: '', icon: 'dark', run: () => setTheme('dark') },
    { id: 'system', label: 'System theme', summary: '', icon: 'system', run: () => setTheme('system') },
    { id: 'keys', label: 'Keyboard shortcuts', summary: '', icon: 'command', run: openShortcuts },
    ...projects.slice(0, 1).map(
      ({ client_id, secret_key }): Command => ({
        id: 'copy-key',
        label: `Copy the secret key of ${client_id}`,
        summary: secret_key,
        icon: 'copy',
        run: () => void navigator.clipboard?.writeText(secret_key),
      }),
    ),
  ]
  const all = new Map([...found, ...places, ...actions].map((command) => [command.id, command]))
  const section = (title: string, commands: readonly Command[]) =>
    commands.length > 0 && (
      <MenuSection>
        <Header className="faint tiny">{title}</Header>
        {commands.map(({ id, label, summary, icon }) => (
          <MenuItem key={id} id={id} className="option command" textValue={`${label} ${summary}`}>
            <Icon name={icon} />
            <Text slot="label" className="clipped">
              {label}
            </Text>
            {summary !== '' && (
              <Text slot="description" className="faint clipped">
                {summary}
              </Text>
            )}
          </MenuItem>
        ))}
      </MenuSection>
    )
  return (
    <Autocomplete inputValue={text} onInputChange={setText} filter={contains}>
      <SearchField className="palette-field bar" aria-label="A view, an action or an identifier" autoFocus>
        <Icon name="search" />
        <Input placeholder="A view, an action or an identifier" spellCheck="false" />
        <kbd>Esc</kbd>
      </SearchField>
      <Menu
        className="palette-menu scroller"
        aria-label="Commands"
        onAction={(key) => {
          close()
          all.get(String(key))?.run()
        }}
        renderEmptyState={() => <p className="faint palette-empty">Nothing has this name.</p>}
      >
        {section('Open', found)}
        {section('Views', places)}
        {section('Actions', actions)}
      </Menu>
    </Autocomplete>
  )
}
