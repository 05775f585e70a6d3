import { testTemplate } from './own-test.ts'

testTemplate('flask-server')
