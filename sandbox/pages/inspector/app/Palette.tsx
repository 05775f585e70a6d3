/** The command palette: views, the page of any identifier, and the actions available everywhere. */
import { useEffect, useState } from 'react'
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
import { linkTo, type SeededProject, useSession } from '../data/session.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { hasWords } from '../parts/lists/filters.ts'
import { detectKind, routeTo } from '../parts/values/identifiers.ts'
import { setTheme, themeNames } from './theme.ts'
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
  const found = wanted === '' ? [] : [openCommand(text, navigate)]
  const places = views.map(
    ({ id, label, summary, icon, href }): Command => ({ id, label, summary, icon, run: () => navigate(href) }),
  )
  const actions = listActions(projects[0], openShortcuts)
  const pages = useDocs(wanted).map(
    ({ topic, title, summary }): Command => ({
      id: `docs:${topic}`,
      label: title,
      summary,
      icon: 'page',
      run: go(`/_sandbox/docs/${topic}`),
    }),
  )
  const all = new Map([...found, ...places, ...actions, ...pages].map((command) => [command.id, command]))
  return (
    <Autocomplete inputValue={text} onInputChange={setText} filter={contains}>
      <SearchField
        className="palette-field bar"
        aria-label="Search views, actions, documentation and identifiers"
        autoFocus
      >
        <Icon name="search" />
        <Input placeholder="Search views, docs and identifiers" spellCheck="false" />
        <kbd>Esc</kbd>
      </SearchField>
      <Menu
        className="palette-menu scroller"
        aria-label="Commands"
        onAction={(key) => {
          close()
          all.get(String(key))?.run()
        }}
        renderEmptyState={() => <p className="faint palette-empty">No matches.</p>}
      >
        <CommandSection title="Open" commands={found} />
        <CommandSection title="Views" commands={places} />
        <CommandSection title="Actions" commands={actions} />
        <CommandSection title="Documentation" commands={pages} />
      </Menu>
    </Autocomplete>
  )
}

function openCommand(text: string, navigate: (route: string) => void): Command {
  const wanted = text.trim()
  const kind = detectKind(wanted)
  return {
    id: 'find',
    // Contains the typed text, so the filter always keeps it.
    label: text,
    summary: kind === null ? 'open what has this identifier' : `open this ${kind}`,
    icon: 'open',
    run: () => navigate(kind === null ? `/id/${encodeURIComponent(wanted)}` : routeTo(kind, wanted)),
  }
}

/** Returns the actions available everywhere; the key to copy is of the first seeded project. */
function listActions(project: SeededProject | undefined, openShortcuts: () => void): Command[] {
  return [
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
    ...(['light', 'dark', 'system'] as const).map(
      (id): Command => ({ id, label: themeNames[id], summary: '', icon: id, run: () => setTheme(id) }),
    ),
    { id: 'keys', label: 'Keyboard shortcuts', summary: '', icon: 'command', run: openShortcuts },
    ...(project === undefined ? [] : [project]).map(
      ({ client_id, secret_key }): Command => ({
        id: 'copy-key',
        label: `Copy the secret key for ${client_id}`,
        summary: secret_key,
        icon: 'copy',
        run: () => void navigator.clipboard?.writeText(secret_key),
      }),
    ),
  ]
}

const go = (address: string) => () => location.assign(linkTo(address))

function CommandSection({ title, commands }: { title: string; commands: readonly Command[] }) {
  if (commands.length === 0) return null
  return (
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
}

interface DocsPage {
  topic: string
  title: string
  summary: string
  parts: readonly { heading: string; words: string }[]
}

const maxDocs = 6
let docs: Promise<readonly DocsPage[]> | undefined

/** Returns the pages of the documentation with all words of a search, those with the words in their title first. */
function useDocs(text: string): readonly DocsPage[] {
  const [pages, setPages] = useState<readonly DocsPage[]>([])
  useEffect(() => {
    if (text === '') return
    docs ??= fetch('/_sandbox/docs/index.json').then((response): Promise<readonly DocsPage[]> => response.json())
    docs.then(setPages, () => {
      docs = undefined
    })
  }, [text])
  if (text === '') return []
  const isInTitle = ({ title, topic }: DocsPage) => hasWords(`${title} ${topic}`, text)
  // What is shown is filtered again, by label and summary.
  return pages
    .filter((page) => isInTitle(page) || hasWords(page.summary, text))
    .toSorted((a, b) => Number(isInTitle(b)) - Number(isInTitle(a)))
    .slice(0, maxDocs)
}
