import { testBackend } from './own-test.ts'

testBackend('flask-server')
