/** Data of the control plane, read again when an event concerns it. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiProblem, callAny, type EndpointId, type EndpointInput, type EndpointOutput } from './api.ts'
import { isReplaced, type SandboxEvent, useLiveEvents, useRecovery } from './live.ts'

export type Loaded<Data> =
  | { status: 'loading'; data: null; problem: null }
  | { status: 'failed'; data: null; problem: ApiProblem }
  | { status: 'ready'; data: Data; problem: ApiProblem | null }

/** Events within this time lead to one request. */
const debounceMs = 150

export interface Resource<Data> {
  state: Loaded<Data>
  reload(): void
}

/**
 * Reads an endpoint, and again when its input changes, when `isAffected` holds for an event, and when the connection is
 * back. The earlier data stays visible in the meantime. With `input` null, nothing is read.
 */
export function useResource<Id extends EndpointId>(
  id: Id,
  input: EndpointInput<Id> | null,
  isAffected: (event: SandboxEvent) => boolean = never,
): Resource<EndpointOutput<Id>> {
  const [state, setState] = useState<Loaded<EndpointOutput<Id>>>(loading)
  const name = `${id} ${JSON.stringify(input)}`
  const shown = useRef('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const controller = useRef<AbortController>(undefined)
  const latest = useRef({ id, input, name })
  latest.current = { id, input, name }

  const read = useCallback(async () => {
    const { id, input, name } = latest.current
    if (input === null) return
    controller.current?.abort()
    const own = new AbortController()
    controller.current = own
    if (shown.current !== name) setState(loading)
    shown.current = name
    try {
      const data = await callAny<EndpointOutput<Id>>(id, input, own.signal)
      if (!own.signal.aborted) setState({ status: 'ready', data, problem: null })
    } catch (error) {
      if (own.signal.aborted) return
      const problem = toProblem(error)
      setState((before) =>
        before.status === 'ready' && problem.status === 0
          ? { ...before, problem }
          : { status: 'failed', data: null, problem },
      )
    }
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the name stands for id and input
  useEffect(() => {
    void read()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
      controller.current?.abort()
    }
  }, [name, read])

  useLiveEvents((events) => {
    if (timer.current !== undefined || !events.some((event) => isAffected(event) || isReplaced(event))) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      void read()
    }, debounceMs)
  })
  useRecovery(() => void read())
  return { state, reload: () => void read() }
}

/**
 * Reads data that takes more than one response of an endpoint: once for each `name`, and when it is reloaded, the whole
 * state was replaced, or the connection is back. The earlier data stays visible in the meantime.
 */
export function useLoaded<Data>(name: string, read: () => Promise<Data>): Resource<Data> {
  const [state, setState] = useState<Loaded<Data>>(loading)
  const [reloads, setReloads] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the name stands for what is read
  useEffect(() => {
    let isShown = true
    read().then(
      (data) => isShown && setState({ status: 'ready', data, problem: null }),
      (error: unknown) => isShown && setState({ status: 'failed', data: null, problem: toProblem(error) }),
    )
    return () => {
      isShown = false
    }
  }, [name, reloads])
  const reload = useCallback(() => setReloads((before) => before + 1), [])
  useLiveEvents((events) => events.some(isReplaced) && reload())
  useRecovery(reload)
  return { state, reload }
}

const loading = { status: 'loading', data: null, problem: null } as const
const never = () => false

export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem(0, {}, error instanceof Error ? error.message : String(error))
}
