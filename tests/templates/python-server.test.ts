import { testTemplate } from './own-test.ts'

testTemplate('python-server')
