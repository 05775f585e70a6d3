import { testBackend } from './own-test.ts'

testBackend('python-server')
