import { describeChat } from './chat.ts'
import { testTemplate } from './own-test.ts'

testTemplate('next-chat')
describeChat({ template: 'next-chat', build: ['next.mjs', 'build'], serve: ['next.mjs', 'start', '--port', '0'] })
