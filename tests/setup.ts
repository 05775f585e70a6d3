/** Runs in every test file, before its own hooks and after them. */
import { afterAll } from 'vitest'
import { removeTemporaryDirectories } from './temporary.ts'

afterAll(removeTemporaryDirectories)
