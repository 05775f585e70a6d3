import { testBackend } from './own-test.ts'

testBackend('go-server')
