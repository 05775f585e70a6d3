import { testBackend } from './own-test.ts'

testBackend('php-server')
