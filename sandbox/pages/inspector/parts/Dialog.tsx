/** Dialogs, buttons that ask before they act, and the state of a started action. */
import { type ReactNode, useState } from 'react'
import {
  Button,
  Dialog,
  DialogTrigger,
  Heading,
  Modal,
  ModalOverlay,
  type ModalOverlayProps,
} from 'react-aria-components'
import type { ApiProblem } from '../data/api.ts'
import { toProblem } from '../data/resource.ts'
import { Icon, type IconName } from './Icon.tsx'
import { Problem } from './Shown.tsx'

export interface Action {
  isRunning: boolean
  problem: ApiProblem | null
  /** The result, as a sentence; '' before it is done. */
  done: string
  /** Runs `work`, which returns a description of its effect; one at a time. Resolves to whether it succeeded. */
  run(work: () => Promise<string>): Promise<boolean>
  /** Runs `work` and then shows `done` as its effect. */
  run(work: () => Promise<unknown>, done: string): Promise<boolean>
}

/**
 * The state of the actions of a form: what is running, what failed, and what was done last. `reload` is called after
 * each success.
 */
export function useAction(reload?: () => void): Action {
  const [state, setState] = useState<{ isRunning: boolean; problem: ApiProblem | null; done: string }>(idle)
  return {
    ...state,
    async run(work: () => Promise<unknown>, done?: string) {
      setState({ ...idle, isRunning: true })
      try {
        const said = await work()
        setState({ ...idle, done: done ?? String(said) })
        reload?.()
        return true
      } catch (error) {
        setState({ ...idle, problem: toProblem(error) })
        return false
      }
    },
  }
}

const idle = { isRunning: false, problem: null, done: '' }

/** The result of an action or why it failed, announced to screen readers. */
export function Outcome({ action: { problem, done } }: { action: Action }) {
  return (
    <>
      <p className="outcome" role="status">
        {done}
      </p>
      {problem !== null && <Problem problem={problem} />}
    </>
  )
}

interface TitledDialogProps extends Pick<ModalOverlayProps, 'isOpen' | 'onOpenChange'> {
  title: string
  isWide?: boolean
  children: ReactNode | ((close: () => void) => ReactNode)
}

export function TitledDialog({ title, isWide = false, children, ...overlay }: TitledDialogProps) {
  return (
    <ModalOverlay className="overlay" isDismissable {...overlay}>
      <Modal className={isWide ? 'dialog-modal wide' : 'dialog-modal'}>
        <Dialog className="dialog">
          {({ close }) => (
            <>
              <header className="bar spread">
                <Heading slot="title">{title}</Heading>
                <Button className="copy soft" aria-label="Close" onPress={close}>
                  <Icon name="close" />
                </Button>
              </header>
              {typeof children === 'function' ? children(close) : children}
            </>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

interface DialogButtonProps extends TitledDialogProps {
  icon: IconName
  label: string
}

export function DialogButton({ icon, label, ...dialog }: DialogButtonProps) {
  return (
    <DialogTrigger>
      <Button className="small bar">
        <Icon name={icon} />
        {label}
      </Button>
      <TitledDialog {...dialog} />
    </DialogTrigger>
  )
}
