import { testTemplate } from './own-test.ts'

testTemplate('node-server')
