/** The keys that work everywhere. */
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Icon } from '../parts/Icon.tsx'
import { views } from './views.ts'

export function Shortcuts({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
    [['Ctrl', 'K'], 'Command palette'],
    [['/'], 'Search this list'],
    [['j'], 'Next row'],
    [['k'], 'Previous row'],
    [['Enter'], 'Open the row'],
    [['?'], 'These keys'],
    ...views.map(({ shortcut, label }) => [['g', shortcut], label] as const),
  ]
  return (
    <ModalOverlay className="overlay" isDismissable isOpen={isOpen} onOpenChange={(open) => !open && close()}>
      <Modal className="dialog-modal">
        <Dialog className="dialog">
          <header className="bar spread">
            <Heading slot="title">Keyboard shortcuts</Heading>
            <Button className="copy soft" aria-label="Close" onPress={close}>
              <Icon name="close" />
            </Button>
          </header>
          <dl className="keys">
            {keys.map(([names, what]) => (
              <div key={what}>
                <dt>{what}</dt>
                <dd className="bar">
                  {names.map((name) => (
                    <kbd key={name}>{name}</kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
