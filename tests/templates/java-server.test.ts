import { testBackend } from './own-test.ts'

testBackend('java-server')
