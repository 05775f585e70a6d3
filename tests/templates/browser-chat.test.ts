import { describeChat } from './chat.ts'
import { testTemplate } from './own-test.ts'

testTemplate('browser-chat')
describeChat({ template: 'browser-chat', build: null, serve: ['server.js'] })
