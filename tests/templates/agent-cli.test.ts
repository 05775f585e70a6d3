import { testTemplate } from './own-test.ts'

testTemplate('agent-cli')
