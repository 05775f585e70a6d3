import { testTemplate } from './own-test.ts'

testTemplate('java-server')
