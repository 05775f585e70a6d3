import { testBackend } from './own-test.ts'

testBackend('ruby-server')
