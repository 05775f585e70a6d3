import { useEffect, useState } from 'react'
import { Button, Form, Input, Label, TextField } from 'react-aria-components'
import { openSession, unlock } from '../data/session.ts'
import { Icon } from '../parts/Icon.tsx'

/** Beyond loopback every client needs the admin token. The tab keeps it. */
export function LockedPage() {
  const [token, setToken] = useState('')
  const [isWrong, setWrong] = useState(false)
  const submit = async () => {
    setWrong(false)
    if ((await unlock(token.trim())) === 'locked') setWrong(true)
  }
  return (
    <main className="locked">
      <Form
        validationBehavior="aria"
        className="locked-box paper"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <span className="logo">
          <Icon name="key" />
        </span>
        <h1>This sandbox needs its admin token</h1>
        <p className="soft">
          Other computers can reach it. <code>svc start</code> printed the token; <code>svc sandbox status</code> shows
          it again on the same computer. This tab keeps it until it is closed.
        </p>
        <TextField
          className="field text-field"
          type="password"
          value={token}
          onChange={setToken}
          isInvalid={isWrong}
          autoFocus
        >
          <Label>Admin token</Label>
          <Input className="field-box" autoComplete="off" spellCheck="false" placeholder="sbx_..." />
        </TextField>
        <p className="wrong" role="alert">
          {isWrong ? 'This is not the admin token of this sandbox.' : ''}
        </p>
        <Button type="submit" className="small primary" isDisabled={token.trim() === ''}>
          Open the inspector
        </Button>
      </Form>
    </main>
  )
}

const retryMs = 1000

export function UnreachablePage() {
  useEffect(() => {
    const timer = setInterval(() => void openSession(), retryMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <main className="locked">
      <div className="locked-box paper" role="alert">
        <span className="logo">
          <Icon name="close" />
        </span>
        <h1>The sandbox does not respond</h1>
        <p className="soft">
          Start it: <code>svc start</code>. This page opens once it responds.
        </p>
      </div>
    </main>
  )
}
