import { testTemplate } from './own-test.ts'

testTemplate('php-server')
