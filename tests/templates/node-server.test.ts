import { testBackend } from './own-test.ts'

testBackend('node-server')
