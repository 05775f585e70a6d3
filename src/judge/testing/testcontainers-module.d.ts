/**
 * What is used of Testcontainers 11 and 12, which is an optional dependency of 50 MB and not installed with the checkout.
 * `npm run test:interop` compiles the same sources with its real types.
 */
declare module 'testcontainers' {
  import type { Readable } from 'node:stream'

  interface StartedTestContainer extends AsyncDisposable {
    stop(): Promise<unknown>
    logs(): Promise<Readable>
  }

  class GenericContainer {
    constructor(image: string)
    protected waitStrategy: object | undefined
    protected networkAliases: string[]
    withExposedPorts(port: { container: number; host: number }): this
    withCommand(command: string[]): this
    start(): Promise<StartedTestContainer>
  }

  class AbstractStartedContainer implements StartedTestContainer {
    constructor(container: StartedTestContainer)
    stop(): Promise<unknown>
    logs(): Promise<Readable>
    [Symbol.asyncDispose](): Promise<void>
  }

  const Wait: { forHttp(path: string, port: number, options: { abortOnContainerExit: boolean }): object }

  class RandomPortGenerator {
    generatePort(): Promise<number>
  }

  function getContainerRuntimeClient(): Promise<{ info: { containerRuntime: { host: string } } }>
}
