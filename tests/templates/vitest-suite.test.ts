import { testTemplate } from './own-test.ts'

testTemplate('vitest-suite')
