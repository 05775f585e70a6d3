/** What all tests of a file use. */
import { afterAll } from 'vitest'

/** Resolves to what was opened, and closes it after the tests of the file: `const cli = await forAllTests(startTestCli())`. */
export async function forAllTests<Resource extends AsyncDisposable>(opening: Promise<Resource>): Promise<Resource> {
  const resource = await opening
  afterAll(() => resource[Symbol.asyncDispose]())
  return resource
}
