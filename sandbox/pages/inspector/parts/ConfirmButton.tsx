import { type ReactNode, useState } from 'react'
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components'

interface ConfirmButtonProps {
  /** Default: `confirm`. */
  children?: ReactNode
  title: string
  /** The data that will be lost. */
  text: ReactNode
  /** The label of the button that acts. */
  confirm: string
  /** Asks once more, after the first answer. */
  again?: { text: ReactNode; confirm: string }
  isDisabled?: boolean
  onConfirm(): void
}

/** A button whose action cannot be undone: it asks before it acts, and asks twice if `again` is given. */
export function ConfirmButton({ children, title, text, confirm, again, isDisabled, onConfirm }: ConfirmButtonProps) {
  const [isSecond, setSecond] = useState(false)
  return (
    <DialogTrigger onOpenChange={() => setSecond(false)}>
      <Button className="small bar danger" isDisabled={isDisabled === true}>
        {children ?? confirm}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="dialog-modal">
          <Dialog className="dialog" role="alertdialog">
            {({ close }) => (
              <>
                <Heading slot="title">{title}</Heading>
                <div className="dialog-text">{isSecond ? again?.text : text}</div>
                <div className="bar dialog-actions">
                  <Button className="small" autoFocus onPress={close}>
                    Cancel
                  </Button>
                  <Button
                    // Another button: a double click does not answer both questions.
                    key={String(isSecond)}
                    className="small danger solid"
                    onPress={() => {
                      if (again !== undefined && !isSecond) return setSecond(true)
                      close()
                      onConfirm()
                    }}
                  >
                    {isSecond ? again?.confirm : confirm}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}
